// Talks to each URL as a page with `useChat` does: asks, runs the tools it is asked to run, goes on until there is an answer.
//
// In, one line each: {"url": string, "model": string, "text": string, "tools": {}, "image"?: data URL, "abort"?: true}. Out, one line each:
// {"messages": UIMessage[], "error": string | null, "status": string, "asked": [[name, input], ...], "invalid": string | null}
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(new URL('../node/package.json', import.meta.url));
const { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls, safeValidateUIMessages } = require('ai');

class State {
  status = 'ready';
  error = undefined;
  messages = [];
  pushMessage = message => (this.messages = this.messages.concat(message));
  popMessage = () => (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) =>
    (this.messages = [...this.messages.slice(0, index), this.snapshot(message), ...this.messages.slice(index + 1)]);
  snapshot = value => structuredClone(value);
}
class Chat extends AbstractChat {}

const TOOLS = { Calculator_Add: ({ a, b }) => `${a + b}`, Calculator_Multiply: ({ a, b }) => `${a * b}` };
const words = error => (error == null ? null : String(error?.message ?? error).slice(0, 1000));
const sleep = milliseconds => new Promise(done => setTimeout(done, milliseconds));

async function talk({ url, model, text, tools, image, abort }) {
  const asked = [];
  const chat = new Chat({
    id: 'c',
    state: new State(),
    transport: new DefaultChatTransport({ api: url, body: { model, tools } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onError: () => {},
    onToolCall: ({ toolCall }) => {
      asked.push([toolCall.toolName, toolCall.input]);
      const run = TOOLS[toolCall.toolName];
      if (run) void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: run(toolCall.input) });
    },
  });
  const files = image ? [{ type: 'file', mediaType: 'image/png', url: image }] : undefined;
  const sent = chat.sendMessage({ text, files });
  if (abort) {
    await sleep(150);
    await chat.stop();
  }
  await sent;
  for (let quiet = 0; quiet < 3; quiet = chat.status === 'ready' || chat.status === 'error' ? quiet + 1 : 0) await sleep(10);
  const checked = await safeValidateUIMessages({ messages: chat.messages });
  const invalid = checked.success ? null : words(checked.error);
  return { messages: chat.messages, error: words(chat.error), status: chat.status, asked, invalid };
}

console.error = console.warn = () => {};
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await talk(JSON.parse(line))) + '\n');
}
