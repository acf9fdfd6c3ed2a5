// SPDX-License-Identifier: Apache-2.0
//
// In the worker, after emscripten's `tacit_module`: answers lists of questions, one by one.
'use strict';

let ask;

self.onmessage = async ({data}) => {
  try {
    if (data.wasm) {
      const engine = await tacit_module({wasmBinary: data.wasm});
      ask = question => JSON.parse(engine.ccall('tacit_ask', 'string', ['string'], [JSON.stringify(question)]));
      self.postMessage({ready: true});
      return;
    }
    for (const question of data.questions) self.postMessage({answer: ask(question)});
    self.postMessage({done: true});
  } catch (error) {
    self.postMessage({failed: String(error && error.message || error)});
  }
};
