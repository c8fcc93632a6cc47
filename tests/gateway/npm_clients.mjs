// Talks to a gateway as programs with the npm package `ai` do: `generateText` and `streamText` with the provider of each front
// wire, of which nothing is changed but its `baseURL`. Tools are run by `ai` itself, step after step.
//
// In, one line each: {"client": string, "url": string, "model": string, "text": string, "stream": boolean, "thinks"?: boolean,
// "abort"?: boolean, "object"?: boolean}. Out, one line each: {"text", "object", "thoughts", "finish", "usage",
// "calls": [[step, id, name, input], ...], "results": [[id, output], ...], "error": null | {"status", "message", "retry"}}
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(new URL('../node/package.json', import.meta.url));
const { generateText, streamText, stepCountIs, tool, Output } = require('ai');
const { createAnthropic } = require('@ai-sdk/anthropic');
const { createGoogleGenerativeAI } = require('@ai-sdk/google');
const { createOpenAI } = require('@ai-sdk/openai');
const { z } = require('zod');

const apiKey = 'any';
const CLIENTS = {
  'openai-chat': (url, model) => createOpenAI({ apiKey, baseURL: `${url}/v1` }).chat(model),
  'openai-responses': (url, model) => createOpenAI({ apiKey, baseURL: `${url}/v1` })(model),
  anthropic: (url, model) => createAnthropic({ apiKey, baseURL: `${url}/v1` })(model),
  gemini: (url, model) => createGoogleGenerativeAI({ apiKey, baseURL: `${url}/v1beta` })(model),
};
const THINKS = {
  openai: { reasoningEffort: 'low', reasoningSummary: 'auto', store: false, forceReasoning: true },
  anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } },
  google: { thinkingConfig: { includeThoughts: true } },
};
const two = z.object({ a: z.number(), b: z.number() });
const tools = {
  Calculator_Add: tool({ description: 'Adds two numbers', inputSchema: two, execute: ({ a, b }) => `${a + b}` }),
  Calculator_Multiply: tool({ description: 'Multiplies two numbers', inputSchema: two, execute: ({ a, b }) => `${a * b}` }),
};

async function talk({ client, url, model, text, stream, thinks, abort, object }) {
  const leaves = new AbortController();
  const asked = {
    model: CLIENTS[client](url, model),
    prompt: text,
    ...(object ? { output: Output.object({ schema: two }) } : { tools, stopWhen: stepCountIs(6) }),
    maxRetries: 0,
    abortSignal: leaves.signal,
    ...(thinks ? { providerOptions: THINKS } : {}),
  };
  let given;
  if (stream) {
    given = streamText({ ...asked, onError: () => {} });
    for await (const part of given.fullStream) {
      if (part.type === 'error') throw part.error;
      if (abort && part.type === 'text-delta') leaves.abort();
    }
    if (abort) return { text: '', error: null };
  } else {
    given = await generateText(asked);
  }
  const steps = await given.steps;
  return {
    text: await given.text,
    object: object ? await given.output : null,
    thoughts: steps.map(step => step.reasoningText ?? '').join(''),
    finish: await given.finishReason,
    calls: steps.flatMap((step, n) => step.toolCalls.map(call => [n, call.toolCallId, call.toolName, call.input])),
    results: steps.flatMap(step => step.toolResults.map(one => [one.toolCallId, one.output])),
    usage: await given.totalUsage,
    error: null,
  };
}

const refused = ({ statusCode, message, isRetryable }) => ({
  error: { status: statusCode ?? null, message: String(message).slice(0, 1000), retry: isRetryable },
});

globalThis.AI_SDK_LOG_WARNINGS = false;
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await talk(JSON.parse(line)).catch(refused)) + '\n');
}
