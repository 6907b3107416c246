// Uses a caisson as a program would, with one of the real SDK clients: connects, lists, runs,
// watches, cancels.
//
//   node clients.mjs SDK MODE TRANSPORT TARGET...      as open_client.mjs has it
import assert from 'node:assert/strict';
import { call, client, sdk } from './open_client.mjs';

assert.equal(client.getServerVersion()?.name, 'caisson');

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name), ['execute_code', 'wait_for_run']);

const run = await call({ code: 'print("hi")\n6 * 7' });
assert.equal(run.structuredContent.result, 42);  // The client has checked it against the outputSchema.
assert.equal(run.content[0].text, 'hi\n');
assert.equal((await call({ code: '1/0' })).isError, true);

// These clients drop what comes right before the answer, so the code goes on for a while.
const told = [];
await call({ code: 'print("up", flush=True)\nfor i in range(5_000_000): pass' }, { onprogress: (p) => told.push(p) });
assert.equal(told[0]?.message, 'up\n');

const stop = new AbortController();
const endless = call({ code: 'print("up", flush=True)\nwhile True: pass' },
                     { signal: stop.signal, onprogress: () => stop.abort('enough') });
await assert.rejects(endless);

const written = await call({ code: 'open("/output/a b.csv", "w").write("x,y\\n")' });
const link = written.content.find((block) => block.type === 'resource_link');
assert.equal(link.name, 'a b.csv');
const read = await client.readResource({ uri: link.uri });
assert.equal(read.contents[0].text, 'x,y\n');
const listed = await client.listResources();
assert.ok(listed.resources.some((resource) => resource.uri === link.uri));
await assert.rejects(client.readResource({ uri: 'caisson://runs/run_x/files/0/a' }));
await assert.rejects(sdk === 'v1' ? client.callTool({ name: 'nobody', arguments: {} }).then((result) => {
  if (result.isError) throw new Error('refused');
}) : client.callTool({ name: 'nobody', arguments: {} }));

await client.close();
console.log('ok');
