// Imports the JSON-RPC message types into this namespace.
//
// Trust     Same as jsonrpc/message.h.
// Threads   Same as there.
// Lifetime  Same as there.
#pragma once

#include "jsonrpc/message.h"

namespace caisson::mcp {

using jsonrpc::BadMessage;
using jsonrpc::Batch;
using jsonrpc::BatchText;
using jsonrpc::Message;
using jsonrpc::Notification;
using jsonrpc::NotificationText;
using jsonrpc::ReadBatch;
using jsonrpc::ReadMessage;
using jsonrpc::Reply;
using jsonrpc::ReplyText;
using jsonrpc::Request;
using jsonrpc::RequestText;
using jsonrpc::Response;
using jsonrpc::RpcCode;
using jsonrpc::RpcError;

}  // namespace caisson::mcp
