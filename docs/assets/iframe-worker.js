// A browser starts no worker for a page that was opened from disk. There the search runs in a hidden frame that answers
// like one, so that the site needs neither a server nor a script from elsewhere.
if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.room = new Promise((ready) => {
        const frame = document.createElement('iframe');
        frame.hidden = true;
        document.body.append(frame);
        frame.contentWindow.postMessage = (data) => this.dispatchEvent(new MessageEvent('message', {data}));
        const script = frame.contentDocument.createElement('script');
        script.src = address;
        script.onload = () => ready(frame.contentWindow);
        frame.contentDocument.body.append(script);
      });
    }

    async postMessage(data) {
      const room = await this.room;
      room.dispatchEvent(new room.MessageEvent('message', {data}));
    }
  };
}
