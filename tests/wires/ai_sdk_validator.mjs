// Says of each body on a line of stdin whether the official package accepts its messages, and what a model would be sent.
//
// In: {"body": ..., "kind": "request" | "response"}. Out, one line each: {"error": string | null, "model": ModelMessage[]}.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(new URL('../node/package.json', import.meta.url));
const { convertToModelMessages, modelMessageSchema, safeValidateUIMessages } = require('ai');

const listed = body => (Array.isArray(body) ? body : 'messages' in body ? body.messages : [body]);

async function validate({ body }) {
  const messages = listed(body);
  const ui = messages.some(message => 'parts' in message);
  if (ui) {
    const checked = await safeValidateUIMessages({ messages });
    if (!checked.success) throw checked.error;
  }
  const model = ui ? await convertToModelMessages(messages) : messages;
  for (const message of model) {
    const found = modelMessageSchema.safeParse(message);
    if (!found.success) throw found.error;
  }
  return model;
}

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    said = { error: null, model: await validate(JSON.parse(line)) };
  } catch (error) {
    said = { error: String(error?.message ?? error).slice(0, 2000), model: [] };
  }
  process.stdout.write(JSON.stringify(said) + '\n');
}
