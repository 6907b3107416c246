// Connects one of the real SDK clients, as the command line says:
//
//   SDK MODE TRANSPORT TARGET...      SDK v1|v2, MODE legacy|auto|pin, TRANSPORT stdio|http
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [sdk, mode, transportKind, ...target] = process.argv.slice(2);
const require = createRequire(process.cwd() + '/');
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

function make(Stdio, Http) {
  if (transportKind === 'http') return new Http(new URL(target[0]));
  return new Stdio({ command: target[0], args: target.slice(1) });
}

async function open() {
  const info = { name: 'caisson-test', version: '1' };
  if (sdk === 'v1') {
    const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
    const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
    return { client: new Client(info), transport: make(StdioClientTransport, StreamableHTTPClientTransport) };
  }
  const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
  const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');
  const negotiation = { legacy: 'legacy', auto: 'auto', pin: { pin: '2026-07-28' } }[mode];
  const client = new Client(info, { versionNegotiation: { mode: negotiation } });
  return { client, transport: make(StdioClientTransport, StreamableHTTPClientTransport) };
}

const { client, transport } = await open();

// Calls `handler` whenever the server says that its tools have changed.
async function onToolsChanged(handler) {
  const method = 'notifications/tools/list_changed';
  if (sdk === 'v1') {
    const { ToolListChangedNotificationSchema } = await load('@modelcontextprotocol/sdk/types.js');
    client.setNotificationHandler(ToolListChangedNotificationSchema, handler);
  } else {
    client.setNotificationHandler(method, handler);
  }
}

async function call(args, options) {
  const params = { name: 'execute_code', arguments: args };
  return sdk === 'v1' ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

await client.connect(transport);
export { call, client, mode, onToolsChanged, sdk };
