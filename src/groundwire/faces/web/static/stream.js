// Server-sent events of a POST. Lines end with LF here: the server is ours.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const found = { name: "", data: "" };
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) found.name = line.slice(7);
        else if (line.startsWith("data: ")) found.data = line.slice(6);
      }
      if (found.name) yield { name: found.name, data: JSON.parse(found.data) };
    }
  }
}

export function ask(question, signal) {
  return fetch("/chat/ask", {
    method: "POST",
    headers: { "content-type": "application/json", "x-groundwire-token": document.body.dataset.token },
    body: JSON.stringify(question),
    signal,
  });
}
