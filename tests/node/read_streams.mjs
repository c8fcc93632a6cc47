// Reads the UI message stream behind each URL as the official clients do, and says what they made of it.
//
// In, one line each: {"package": "ai" | "ai5" | ..., "url": string}. Out, one line each:
// {"error": what the reader refused or null, "message": the UI message it built,
//  "chat": {"status", "error", "messages", "asked": tool calls that the client was asked to run}, "invalid": why it is no valid message}
//
// With {"verdicts": [{"approved": bool, "reason"?: string}, ...]} it is a chat in which a user gives or refuses leave, in this
// order, and goes on. Out: {"before": the messages when leave was asked for, "messages", "error", "invalid"}.
import { createInterface } from 'node:readline';

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

const words = error => (error == null ? null : String(error?.message ?? error).slice(0, 1000));

async function read({ DefaultChatTransport, readUIMessageStream }, url) {
  let error = null;
  let message = null;
  try {
    const transport = new DefaultChatTransport({ api: url });
    const stream = await transport.sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' });
    const onError = found => (error ??= words(found));
    for await (const state of readUIMessageStream({ stream, onError })) message = state;
  } catch (found) {
    error ??= words(found);
  }
  return { error, message };
}

async function talk({ AbstractChat, DefaultChatTransport }, url) {
  const asked = [];
  class Chat extends AbstractChat {}
  const chat = new Chat({
    id: 'c',
    state: new State(),
    transport: new DefaultChatTransport({ api: url }),
    onToolCall: ({ toolCall }) => void asked.push(toolCall),
    onError: () => {},
  });
  await chat.sendMessage({ text: 'go on' });
  return { status: chat.status, error: words(chat.error), messages: chat.messages, asked };
}

async function answer(ai, url, verdicts) {
  class Chat extends ai.AbstractChat {}
  const transport = new ai.DefaultChatTransport({ api: url });
  const chat = new Chat({ id: 'c', state: new State(), transport, onError: () => {} });
  await chat.sendMessage({ text: 'go on' });
  const before = structuredClone(chat.messages);
  const asked = chat.messages.at(-1).parts.filter(part => part.state === 'approval-requested');
  for (const [n, verdict] of verdicts.entries()) await chat.addToolApprovalResponse({ id: asked[n].approval.id, ...verdict });
  await chat.sendMessage();
  const checked = await ai.safeValidateUIMessages({ messages: chat.messages });
  return { before, messages: chat.messages, error: words(chat.error), invalid: checked.success ? null : words(checked.error) };
}

async function validate({ package: name, url, verdicts }) {
  const ai = await import(name);
  if (verdicts) return answer(ai, url, verdicts);
  const found = await read(ai, url);
  const chat = await talk(ai, url);
  let invalid = null;
  if (found.message && ai.safeValidateUIMessages) {
    const checked = await ai.safeValidateUIMessages({ messages: [found.message] });
    if (!checked.success) invalid = words(checked.error);
  }
  return { ...found, chat, invalid };
}

console.error = console.warn = () => {};
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await validate(JSON.parse(line))) + '\n');
}
