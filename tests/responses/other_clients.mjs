// Two frameworks on top of the Responses API: OpenAI's Agents SDK, which keeps the history and asks
// for approvals of hosted tools, and the AI SDK, which refers to earlier items by their ids.
//
//     other_clients.mjs URL
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { Agent, OpenAIProvider, Runner, hostedMcpTool, setTracingDisabled, tool } from '@openai/agents';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool as aiTool } from 'ai';
import { z } from 'zod';

const baseURL = process.argv[2] + '/v1';
const parameters = z.object({ city: z.string() });
const execute = async ({ city }) => 'sunny in ' + city;
const question = 'call weather {"city":"Paris"}';

setTracingDisabled(true);
const runner = new Runner({
  modelProvider: new OpenAIProvider({ openAIClient: new OpenAI({ baseURL, apiKey: 'any' }), useResponses: true }),
});
// The server never connects to this address: the tool is its own.
const hosted = hostedMcpTool({ serverLabel: 'caisson', serverUrl: 'http://127.0.0.1:9', requireApproval: 'always' });
const model = createOpenAI({ baseURL, apiKey: 'any' }).responses('analyst');

const flows = {
  async agents_sdk_functions() {
    const agent = new Agent({
      name: 'guide', model: 'analyst',
      tools: [tool({ name: 'weather', description: 'The weather in a city', parameters, execute })],
    });
    assert.match((await runner.run(agent, question)).finalOutput, /sunny in Paris/);
  },

  async agents_sdk_approvals() {
    const agent = new Agent({ name: 'mailer', model: 'direct', tools: [hosted] });
    for (const approve of [true, false]) {
      const asked = await runner.run(agent, 'send an email');
      assert.equal(asked.interruptions.length, 1);
      const [interruption] = asked.interruptions;
      assert.equal(interruption.rawItem.name, 'send');
      approve ? asked.state.approve(interruption) : asked.state.reject(interruption);
      const done = await runner.run(agent, asked.state);
      assert.equal(done.interruptions.length, 0);
      assert.ok(done.finalOutput.length > 0);
    }
  },

  async agents_sdk_stream() {
    const stream = await runner.run(new Agent({ name: 'echo', model: 'analyst' }), 'hello', { stream: true });
    let text = '';
    for await (const piece of stream.toTextStream()) text += piece;
    assert.equal(text, 'You said: hello');
  },

  async ai_sdk_history() {
    const first = await generateText({ model, prompt: 'hello' });
    assert.equal(first.text, 'You said: hello');
    const messages = [
      { role: 'user', content: 'hello' }, ...first.response.messages, { role: 'user', content: 'again' },
    ];
    assert.equal((await generateText({ model, messages })).text, 'You said: again');
  },

  async ai_sdk_stream() {
    const types = [];
    const stream = streamText({ model, prompt: 'think about it' });
    for await (const part of stream.fullStream) types.push(part.type);
    assert.ok(!types.includes('error'), types.join(' '));
    assert.ok(types.includes('reasoning-delta') && types.includes('text-delta'), types.join(' '));
  },

  async ai_sdk_functions() {
    const answer = await generateText({
      model, prompt: question, stopWhen: stepCountIs(3),
      tools: { weather: aiTool({ description: 'The weather in a city', inputSchema: parameters, execute }) },
    });
    assert.match(answer.text, /sunny in Paris/);
  },
};

let failures = 0;
for (const [name, flow] of Object.entries(flows)) {
  try {
    await flow();
    console.log('ok ' + name);
  } catch (error) {
    failures += 1;
    console.log('failed ' + name + '\n' + (error.stack ?? error));
  }
}
process.exit(failures === 0 ? 0 : 1);
