// The npm package `genkit` with the plugins of three providers. Arguments: the folder of the packages, and the request as JSON.
import { createRequire } from 'node:module';

const [, , folder, request] = process.argv;
const require = createRequire(`${folder}/package.json`);
const { genkit, z } = require('genkit');

const { api, url, model, scripts, stream } = JSON.parse(request);
const degrees = { Oslo: 4, Rome: 21, Bern: 11, Kyiv: 17 };
const slow = ['Oslo', 'Bern'];
const apiKey = 'any-key';
process.env.ANTHROPIC_BASE_URL = url; // its plugin has no option for the address
const plugins = {
  'openai-chat': () => require('@genkit-ai/compat-oai').openAICompatible({ name: 'gateway', apiKey, baseURL: `${url}/v1` }),
  anthropic: () => require('@genkit-ai/anthropic').anthropic({ apiKey }),
  gemini: () => require('@genkit-ai/google-genai').googleAI({ apiKey, baseUrl: url }),
};
const names = { 'openai-chat': 'gateway', anthropic: 'anthropic', gemini: 'googleai' };
const ai = genkit({ plugins: [plugins[api]()] });
const weather = ai.defineTool(
  { name: 'weather', description: 'Current weather of a city', inputSchema: z.object({ city: z.string() }), outputSchema: z.string() },
  // The first city that is asked for takes longest.
  async ({ city }) => {
    await new Promise(done => setTimeout(done, slow.includes(city) ? 200 : 0));
    return `${city}: ${degrees[city]} degrees`;
  },
);
const stationStatus = ai.defineTool(
  { name: 'station_status', description: 'Status of a weather station', inputSchema: z.object({ station: z.string() }), outputSchema: z.any() },
  // An exception of a tool ends the turn: an error that the model is to hear is a value.
  async ({ station }) => ({ error: `station ${station} is closed` }),
);
const image = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const picture = ai.defineTool(
  { name: 'picture', description: 'A picture of a place', inputSchema: z.object({ place: z.string() }), multipart: true },
  async ({ place }) => ({
    output: `a picture of ${place}`,
    content: [{ media: { url: `data:image/png;base64,${image}`, contentType: 'image/png' } }],
  }),
);
const tools = [weather, stationStatus, picture];
let messages = [];
for (const script of scripts) {
  const question = { model: `${names[api]}/${model}`, messages, prompt: script.join(' [[then]] '), tools, maxTurns: 6 };
  const response = stream ? await ai.generateStream(question).response : await ai.generate(question);
  console.log(response.text);
  messages = response.messages;
}
