// SPDX-License-Identifier: Apache-2.0
//
// The engine: a worker made of the two scripts that the page carries. A question that runs is stopped by ending
// the worker; the next question starts another.
'use strict';

const engine = (() => {
  const script = new Blob([document.getElementById('engine-script').textContent], {type: 'text/javascript'});
  let wasm;  // a promise of the bytes
  let worker;
  let stop;  // of the list of questions that is being answered

  class Cancelled extends Error {}

  async function bytes() {
    const packed = Uint8Array.from(atob(document.getElementById('engine-wasm').textContent.trim()), c => c.charCodeAt(0));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(unpacked).arrayBuffer();
  }

  async function started() {
    wasm ??= bytes();
    const code = await wasm;
    if (worker) return worker;
    const url = URL.createObjectURL(script);
    const fresh = new Worker(url);
    worker = fresh;
    worker.ready = new Promise((resolve, reject) => {
      fresh.onmessage = ({data}) => (data.ready ? resolve(fresh) : reject(new Error(data.failed)));
      fresh.onerror = event => reject(new Error(event.message || 'the engine did not start'));
    });
    fresh.postMessage({wasm: code});
    return fresh;
  }

  function end() {
    if (worker) worker.terminate();
    worker = undefined;
  }

  return {
    Cancelled,

    /// Ends what is running; its promise is rejected with Cancelled.
    cancel() {
      if (!stop) return;
      const ended = stop;
      stop = undefined;
      end();
      ended(new Cancelled());
    },

    /// The answers to a list of questions; `each(answer, k)` is called as they come. An answer may be a refusal.
    async ask(questions, each = () => {}) {
      if (stop) throw new Error('the engine is busy');
      let mine;
      const ended = new Promise((_, reject) => { mine = reject; });
      ended.catch(() => {});
      stop = mine;
      let now;
      try {
        now = await Promise.race([started().then(w => w.ready), ended]);
        const answers = [];
        const answered = new Promise((resolve, reject) => {
          now.onmessage = ({data}) => {
            if (data.failed) reject(new Error(data.failed));
            else if (data.done) resolve(answers);
            else each(data.answer, answers.push(data.answer) - 1);
          };
          now.onerror = event => reject(new Error(event.message));
        });
        now.postMessage({questions});
        return await Promise.race([answered, ended]);
      } catch (error) {
        if (stop === mine) end();  // what failed is not asked again
        throw error;
      } finally {
        if (stop === mine) stop = undefined;
      }
    },
  };
})();
