// The npm package `ai` with the packages of its providers. Arguments: the folder of the packages, and the request as JSON.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , folder, request] = process.argv;
const require = createRequire(`${folder}/package.json`);
const load = name => import(pathToFileURL(require.resolve(name)).href);
const { generateText, streamText, stepCountIs, tool } = await load('ai');
const { z } = await load('zod');

const { api, url, model, scripts, stream } = JSON.parse(request);
const image = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const degrees = { Oslo: 4, Rome: 21, Bern: 11, Kyiv: 17 };
const slow = ['Oslo', 'Bern'];
const apiKey = 'any-key';
const models = {
  'openai-chat': async () => (await load('@ai-sdk/openai')).createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat(model),
  'openai-responses': async () => (await load('@ai-sdk/openai')).createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses(model),
  anthropic: async () => (await load('@ai-sdk/anthropic')).createAnthropic({ baseURL: `${url}/v1`, apiKey })(model),
  gemini: async () => (await load('@ai-sdk/google')).createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })(model),
  'openai-compatible': async () =>
    (await load('@ai-sdk/openai-compatible')).createOpenAICompatible({ name: 'gateway', baseURL: `${url}/v1`, apiKey })(model),
};
const tools = {
  weather: tool({
    description: 'Current weather of a city',
    inputSchema: z.object({ city: z.string() }),
    // The first city that is asked for takes longest.
    execute: async ({ city }) => {
      await new Promise(done => setTimeout(done, slow.includes(city) ? 200 : 0));
      return `${city}: ${degrees[city]} degrees`;
    },
  }),
  station_status: tool({
    description: 'Status of a weather station',
    inputSchema: z.object({ station: z.string() }),
    execute: async ({ station }) => {
      throw new Error(`station ${station} is closed`);
    },
  }),
  picture: tool({
    description: 'A picture of a place',
    inputSchema: z.object({ place: z.string() }),
    execute: async () => image,
    toModelOutput: () => ({ type: 'content', value: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: image } }] }),
  }),
};
const options = { model: await models[api](), tools, stopWhen: stepCountIs(6) };
const messages = [];
for (const script of scripts) {
  messages.push({ role: 'user', content: script.join(' [[then]] ') });
  const result = stream ? streamText({ ...options, messages }) : await generateText({ ...options, messages });
  console.log(await result.text);
  messages.push(...(await result.responseMessages));
}
