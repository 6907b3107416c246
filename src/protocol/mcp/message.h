// JSON-RPC's messages, by the names they have here.
//
// Trust     As jsonrpc/message.h.
// Threads   As there.
// Lifetime  As there.
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
