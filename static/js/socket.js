// A websocket that comes back by itself, unless the server says that there is nothing to watch.
const NEVER_AGAIN = [4404];

// Gives a function that says whether it is open now.
export function listen(path, hear) {
  const address = new URL(path, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  let socket;
  let failures = 0;

  function connect() {
    socket = new WebSocket(address);
    socket.onmessage = (event) => {
      failures = 0;
      hear(JSON.parse(event.data));
    };
    socket.onclose = (event) => {
      if (NEVER_AGAIN.includes(event.code)) return;
      failures += 1;
      setTimeout(connect, Math.random() * Math.min(30_000, 1_000 * 2 ** failures));
    };
  }

  connect();
  return () => socket.readyState === WebSocket.OPEN;
}
