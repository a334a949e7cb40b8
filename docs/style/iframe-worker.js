/* Browsers start no workers from files. Where the site is opened as files, the search runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><title>search</title>";
      frame.onload = () => {
        frame.onload = null;
        const inside = frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = () => {
          this.postMessage = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
          this.waiting.forEach((data) => this.postMessage(data));
        };
        inside.document.body.append(script);
      };
      document.body ? document.body.append(frame) : addEventListener("DOMContentLoaded", () => document.body.append(frame));
    }
    postMessage(data) {
      this.waiting.push(data);
    }
    terminate() {}
  };
}
