// SPDX-License-Identifier: Apache-2.0
//
// Elements without markup in strings: what is typed, pasted or in a link is text and nothing else.
'use strict';

/// An element with attributes, listeners (`onclick: …`) and children.
function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/// The same in SVG.
function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter(child => child !== undefined && child !== null && child !== false));
  return element;
}

const by_id = id => document.getElementById(id);

async function copied(text, what) {
  let said = `${what} copied`;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // not allowed, as in some browsers from a file
    const area = h('textarea', {class: 'skip'}, text);
    document.body.append(area);
    area.select();
    if (!document.execCommand('copy')) said = 'This browser does not let the page copy';
    area.remove();
  }
  by_id('copied').textContent = said;
}
