// The official AG-UI client, unmodified, in the flows of an application. Every frame is checked with
// the schemas of the protocol.
//
//   agui_client.mjs URL FLOWS      FLOWS: "fake" (fake_server.cc) or "demo" (the demo model)
import assert from 'node:assert/strict';
import {HttpAgent, buildResumeArray} from '@ag-ui/client';
import {EventSchemas} from '@ag-ui/core/schemas';

const [base, kind] = process.argv.slice(2);
const KEYS = {ann: 'the-key-of-ann-quite-long', bob: 'the-key-of-bob-quite-long'};
const words = kind === 'demo'
  ? {chat: 'hello', tool: 'call lookup {"key": "k"}', code: 'code', ask: 'call send {"to": "ann"}', slow: 'slow 3'}
  : {chat: 'hello', tool: 'call', code: 'code', ask: 'ask', slow: 'hang'};
let count = 0;

// The events of an answer, read beside the client.
async function check(response, events) {
  const text = await response.text();
  assert.ok(!text.includes('\r'), 'lines end with LF alone');
  for (const frame of text.split('\n\n')) {
    const data = frame.split('\n').filter(line => line.startsWith('data: ')).map(line => line.slice(6)).join('\n');
    if (!data) continue;
    const event = JSON.parse(data);
    EventSchemas.parse(event);
    assert.ok(Number.isInteger(event.timestamp), data);
    assert.ok(!JSON.stringify(event).includes(':null') || event.type === 'STATE_SNAPSHOT', data);
    events.push(event);
  }
}

class Session {
  constructor(user = 'ann', threadId = `thread ${++count}: "x"`, agent = 'analyst') {
    this.began = new Promise(resolve => { this.begin = resolve; });  // The first event of a run is here.
    this.agent = new HttpAgent({
      url: `${base}/agui/${agent}`, threadId, headers: {Authorization: 'Bearer ' + KEYS[user]},
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (response.ok) {
          const copy = response.clone();
          this.reading = check(copy, this.events = []).catch(error => error.name === 'AbortError' ? null : error);
        }
        return response;
      },
    });
  }
  async run(parameters = {}) {
    const seen = {events: [], error: null};
    const result = await this.agent.runAgent(parameters, {
      onEvent: ({event}) => { seen.events.push(event); this.begin(); },
      onRunErrorEvent: ({event}) => { seen.error = event; },
    });
    const problem = await this.reading;
    if (problem) throw problem;
    const last = seen.events.at(-1);
    assert.ok(['RUN_FINISHED', 'RUN_ERROR'].includes(last.type), 'the stream has an end: ' + JSON.stringify(last));
    assert.equal(seen.events[0].type, 'RUN_STARTED');
    return {...result, ...seen, last, types: seen.events.map(event => event.type)};
  }
  say(content, parameters) {
    this.agent.addMessage({id: `u${++count}`, role: 'user', content});
    return this.run(parameters);
  }
  answer(entry) {
    const open = this.agent.pendingInterrupts;
    return this.run({resume: buildResumeArray(open, Object.fromEntries(open.map(each => [each.id, entry])))});
  }
  text() {
    return this.agent.messages.filter(message => message.role === 'assistant' && message.content).at(-1).content;
  }
  tools() {
    return this.agent.messages.filter(message => message.role === 'tool');
  }
}

const approved = {status: 'resolved', payload: {approved: true}};

const flows = {
  async chat() {
    const session = new Session();
    const first = await session.say(words.chat);
    assert.ok(session.text().includes('hello'), session.text());
    assert.ok(first.types.includes('TEXT_MESSAGE_CONTENT') && first.types.includes('MESSAGES_SNAPSHOT'));
    await session.say('and again');
    assert.equal(session.agent.messages.filter(message => message.role === 'user').length, 2);
    assert.equal(session.agent.messages.filter(message => message.role === 'assistant').length, 2);
  },

  async reasoning() {
    const session = new Session();
    const {types} = await session.say('think');
    assert.ok(types.includes('REASONING_MESSAGE_CONTENT'));
    assert.ok(session.agent.messages.some(message => message.role === 'reasoning'));
  },

  async tools() {
    const session = new Session('ann', undefined, kind === 'demo' ? 'caller' : 'analyst');
    const {types} = await session.say(words.tool);
    assert.ok(types.indexOf('TOOL_CALL_END') < types.indexOf('TOOL_CALL_RESULT'));
    assert.equal(session.tools().length, 1);
    const call = session.agent.messages.find(message => message.toolCalls).toolCalls[0];
    assert.equal(call.function.name, 'lookup');
    assert.deepEqual(JSON.parse(call.function.arguments), {key: 'k'});
  },

  async code() {
    const session = new Session();
    const {events} = await session.say(words.code);
    const call = session.agent.messages.find(message => message.toolCalls).toolCalls[0];
    assert.equal(call.function.name, 'execute_code');
    assert.equal(typeof JSON.parse(call.function.arguments).code, 'string');
    assert.equal(session.tools()[0].toolCallId, call.id);
    const steps = events.filter(event => event.type.startsWith('STEP_'));
    assert.deepEqual(steps.map(step => step.type), ['STEP_STARTED', 'STEP_FINISHED']);
    if (kind === 'demo') return;
    const files = events.find(event => event.type === 'CUSTOM' && event.name === 'caisson.files');
    assert.equal(files.value.files[0].path, '/output/chart.png');
  },

  async state() {
    const session = new Session();
    session.agent.state = {a: 1, b: {c: [1]}};
    await session.say(words.chat);
    assert.deepEqual(session.agent.state, {a: 1, b: {c: [1]}});
    const again = new Session('ann', session.agent.threadId);
    await again.run();  // Connects: nothing runs.
    assert.deepEqual(again.agent.state, {a: 1, b: {c: [1]}});
    assert.deepEqual(again.agent.messages, session.agent.messages);
  },

  async stateIsChangedByTheModel() {
    const session = new Session('ann', undefined, kind === 'demo' ? 'plain' : 'analyst');
    session.agent.state = {todo: ['a']};
    const patch = {patch: [{op: 'add', path: '/todo/-', value: 'b'}]};
    const {types} = await session.say(`call update_state ${JSON.stringify(patch)}`);
    assert.ok(types.includes('STATE_DELTA'), types.join());
    assert.deepEqual(session.agent.state, {todo: ['a', 'b']});
  },

  async toolsOfTheClient() {
    const session = new Session('ann', undefined, kind === 'demo' ? 'plain' : 'analyst');
    const tools = [{name: 'show', description: 'Shows.', parameters: {type: 'object', properties: {a: {type: 'integer'}}}}];
    const {last} = await session.say(kind === 'demo' ? 'call show {"a": 1}' : 'client', {tools});
    assert.equal(last.outcome.type, 'success');
    const [id] = last.outcome.pendingToolCallIds;
    session.agent.addMessage({id: `r${++count}`, role: 'tool', toolCallId: id, content: 'seen by the user'});
    await session.run({tools});
    assert.ok(session.text().includes('seen by the user'), session.text());
  },

  async interruptIsApproved() {
    const session = new Session('ann', undefined, kind === 'demo' ? 'caller' : 'analyst');
    const {last, types} = await session.say(words.ask);
    assert.equal(last.outcome.type, 'interrupt');
    assert.equal(types.at(-2), 'MESSAGES_SNAPSHOT');
    const [interrupt] = session.agent.pendingInterrupts;
    assert.deepEqual(interrupt.metadata.arguments, {to: 'ann'});
    const call = session.agent.messages.find(message => message.toolCalls).toolCalls[0];
    assert.equal(interrupt.toolCallId, call.id);
    const resumed = await session.answer(approved);
    assert.equal(resumed.last.outcome.type, 'success');
    assert.ok(!resumed.types.includes('TOOL_CALL_START'));
    assert.equal(session.tools()[0].toolCallId, call.id);
    assert.equal(session.agent.pendingInterrupts.length, 0);
    // The same answer again: refused, and nothing happens twice.
    const replayed = await session.run({resume: [{interruptId: interrupt.id, ...approved}]});
    assert.equal(replayed.error.code, 'APPROVAL_RESUME_NOT_FOUND');
  },

  async interruptIsDenied() {
    const session = new Session('ann', undefined, kind === 'demo' ? 'caller' : 'analyst');
    await session.say(words.ask);
    const {last} = await session.answer({status: 'resolved', payload: {approved: false, reason: 'not today'}});
    assert.equal(last.outcome.type, 'success');
    assert.ok(session.tools()[0].content.includes('not today'), session.tools()[0].content);
  },

  async interruptIsApprovedWithOtherArguments() {
    const session = new Session('ann', undefined, kind === 'demo' ? 'caller' : 'analyst');
    await session.say(words.ask);
    const wrong = await session.answer({status: 'resolved', payload: {approved: true, editedArgs: {cc: 'eve'}}});
    assert.equal(wrong.error.code, 'APPROVAL_RESUME_INVALID');
    if (kind === 'demo') {
      const type = await session.answer({status: 'resolved', payload: {approved: true, editedArgs: {to: 7}}});
      assert.equal(type.error.code, 'APPROVAL_RESUME_INVALID_RESPONSE');
    }
    const {last} = await session.answer({status: 'resolved', payload: {approved: true, editedArgs: {to: 'bob'}}});
    assert.equal(last.outcome.type, 'success');
    assert.ok(session.tools()[0].content.includes('bob'), session.tools()[0].content);
  },

  async interruptIsCancelled() {
    const session = new Session('ann', undefined, kind === 'demo' ? 'caller' : 'analyst');
    await session.say(words.ask);
    const {last} = await session.answer({status: 'cancelled'});
    assert.equal(last.outcome.type, 'cancelled');
    assert.equal(session.agent.pendingInterrupts.length, 0);
    await session.say(words.chat);
    assert.ok(session.text().includes('hello'));
  },

  async anInterruptSurvivesItsClient() {
    const session = new Session('ann', undefined, kind === 'demo' ? 'caller' : 'analyst');
    await session.say(words.ask);
    const again = new Session('ann', session.agent.threadId, kind === 'demo' ? 'caller' : 'analyst');
    await again.run();
    assert.deepEqual(again.agent.pendingInterrupts, session.agent.pendingInterrupts);
    const {last} = await again.answer(approved);
    assert.equal(last.outcome.type, 'success');
  },

  async abortInMidRun() {
    const session = new Session();
    session.agent.addMessage({id: `u${++count}`, role: 'user', content: words.slow});
    await session.agent.runAgent({}, {
      onTextMessageContentEvent: () => session.agent.abortRun(),
    }).catch(error => { if (error.name !== 'AbortError') throw error; });
    // The thread is free for something new as soon as the server has seen it.
    const deadline = Date.now() + 20000;
    session.agent.addMessage({id: `u${++count}`, role: 'user', content: words.chat});
    for (;;) {
      try {
        await session.run();
        break;
      } catch (error) {
        if (!String(error).includes('409') || Date.now() > deadline) throw error;
      }
    }
    assert.ok(session.text().includes('hello'), session.text());
  },

  async reconnectInMidRun() {
    const session = new Session();
    session.agent.addMessage({id: `u${++count}`, role: 'user', content: words.slow});
    await session.agent.runAgent({}, {
      onTextMessageContentEvent: () => session.agent.abortRun(),
    }).catch(error => { if (error.name !== 'AbortError') throw error; });
    const again = new Session('ann', session.agent.threadId);
    const rest = again.run();
    if (kind !== 'demo') {  // The fake hangs until it is cancelled.
      await again.began;
      const body = JSON.stringify({threadId: session.agent.threadId});
      const done = await fetch(`${base}/agui/analyst/cancel`, {method: 'POST', body,
        headers: {'Content-Type': 'application/json', Authorization: 'Bearer ' + KEYS.ann}});
      assert.equal(done.status, 204);
    }
    const {last} = await rest;
    assert.equal(last.outcome.type, kind === 'demo' ? 'success' : 'cancelled');
    const messages = again.agent.messages;
    assert.deepEqual(messages.map(message => message.role), ['user', 'assistant']);
    const stored = new Session('ann', session.agent.threadId);
    await stored.run();
    assert.deepEqual(stored.agent.messages, messages);
  },

  async twoIdentitiesShareNothing() {
    const anns = new Session('ann', 'shared', kind === 'demo' ? 'caller' : 'analyst');
    anns.agent.state = {secret: 1};
    await anns.say(words.ask);
    const bobs = new Session('bob', 'shared', kind === 'demo' ? 'caller' : 'analyst');
    await bobs.run();
    assert.deepEqual([bobs.agent.messages, bobs.agent.state, bobs.agent.pendingInterrupts], [[], {}, []]);
    const [interrupt] = anns.agent.pendingInterrupts;
    const stolen = await bobs.run({resume: [{interruptId: interrupt.id, ...approved}]});
    assert.equal(stolen.error.code, 'APPROVAL_RESUME_NOT_FOUND');
    assert.equal((await anns.answer(approved)).last.outcome.type, 'success');
    assert.ok(!JSON.stringify(bobs.agent.messages).includes('secret'));
  },

  async whatCannotBegin() {
    const session = new Session('ann', undefined, 'nobody');
    await assert.rejects(session.say(words.chat), /404/);
    const stranger = new Session();
    stranger.agent.headers = {};
    await assert.rejects(stranger.say(words.chat), /401/);
  },
};

for (const [name, flow] of Object.entries(flows)) {
  await flow();
  console.log('ok ' + name);
}
process.exit(0);
