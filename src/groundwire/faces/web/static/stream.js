// Reads server-sent events from the response to a POST. Our server ends lines with LF only.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { name: "", data: "" };
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) event.name = line.slice(7);
        else if (line.startsWith("data: ")) event.data = line.slice(6);
      }
      if (event.name) yield { name: event.name, data: JSON.parse(event.data) };
    }
  }
}

export function post(path, body, signal) {
  return fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-groundwire-token": document.body.dataset.token },
    body: JSON.stringify(body),
    signal,
  });
}
