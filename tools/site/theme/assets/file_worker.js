// SPDX-License-Identifier: Apache-2.0
//
// Browsers start no worker from a file. There the search, which is one, runs in a hidden frame of the page.
'use strict';

if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement('iframe');
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent('message', {data}));
      const script = this.inside.document.createElement('script');
      this.loaded = new Promise(resolve => { script.onload = resolve; });
      script.src = url;
      this.inside.document.body.append(script);
    }
    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent('message', {data})));
    }
  };
}
