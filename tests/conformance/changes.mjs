// Hears that tools have changed: a legacy client by itself, a modern one because it listens.
//
//   node changes.mjs SDK MODE TRANSPORT TARGET...      as open_client.mjs has it; with growing_server.py as upstream
import assert from 'node:assert/strict';
import { call, client, mode, onToolsChanged } from './open_client.mjs';

assert.equal(client.getServerCapabilities()?.tools?.listChanged, true);
const described = async () => (await client.listTools()).tools[0].description;
assert.ok(!(await described()).includes('up_new_1('));

let heard = false;
await onToolsChanged(() => { heard = true; });
const subscription = mode === 'pin' ? await client.listen({ toolsListChanged: true }) : undefined;
if (subscription) assert.deepEqual(subscription.honoredFilter, { toolsListChanged: true });

// A legacy client opens its stream whenever it likes: what changed before that it has not heard of.
while (!heard) assert.equal((await call({ code: 'up_grow()' })).isError, false);
assert.ok((await described()).includes('up_new_1('));

await subscription?.close();
await client.close();
console.log('ok');
