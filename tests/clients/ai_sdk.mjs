// Sends messages as `useChat` does, with the transport of the AI SDK, and prints the message that it assembles.
import { DefaultChatTransport, readUIMessageStream } from "ai";

const [url, messages, options] = process.argv.slice(2);
const transport = new DefaultChatTransport({ api: `${url}/api/chat`, ...JSON.parse(options) });
const stream = await transport.sendMessages({
  chatId: "chat",
  trigger: "submit-message",
  messages: JSON.parse(messages),
});
let message;
for await (const state of readUIMessageStream({ stream, terminateOnError: true })) message = state;
console.log(JSON.stringify(message));
