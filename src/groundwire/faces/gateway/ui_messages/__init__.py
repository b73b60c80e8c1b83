"""The AI SDK's UI messages: `useChat` sends them, and reads the answer as a stream of their parts."""
