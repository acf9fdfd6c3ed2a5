// SPDX-License-Identifier: Apache-2.0
//
// Line charts as SVG, in the width that there is.
'use strict';

const NAMES = {a: 'Run A', b: 'Run B'};

function nice_step(range, parts) {
  const raw = range / parts;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map(k => k * power).find(step => step >= raw * (1 - 1e-12));
}

function ticks_of(axis, parts) {
  if (axis.log) {
    const [low, high] = [Math.ceil(Math.log10(axis.low) - 1e-9), Math.floor(Math.log10(axis.high) + 1e-9)];
    const step = Math.max(1, Math.ceil((high - low) / parts));
    const ticks = [];
    for (let k = high; k >= low; k -= step) ticks.push([10 ** k, k === 0 ? '1' : `10${[...String(k)].map(c => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]).join('')}`]);
    return ticks;
  }
  const step = nice_step(axis.high - axis.low, parts);
  const ticks = [];
  for (let k = Math.ceil(axis.low / step - 1e-9); k * step <= axis.high * (1 + 1e-9); ++k) ticks.push([k * step, String(Number((k * step).toPrecision(6)))]);
  return ticks;
}

/// {x, y: {label, low, high, log}, lines: [{tone, name, points: [[x, y], …]}], dots: [[x, y], …], title, diagonal, square}
/// Points that are not finite leave a gap.
function chart(spec, width) {
  const small = width < 520;
  const height = Math.round(Math.min(spec.square ? 520 : 430, Math.max(270, width * (spec.square ? .8 : .58))));
  const [left, right, top, bottom] = [small ? 58 : 66, 14, spec.lines.length > 1 ? 34 : 12, 48];
  const scale = (axis, from, to) => {
    const by = v => (axis.log ? Math.log10(v) : v);
    const [low, high] = [by(axis.low), by(axis.high)];
    return v => from + (to - from) * (by(v) - low) / (high - low);
  };
  const x = scale(spec.x, left, width - right);
  const y = scale(spec.y, height - bottom, top);
  const round = v => Number(v.toFixed(2));
  const svg = s('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${spec.title}. The table below has the figures.`, xmlns: 'http://www.w3.org/2000/svg'});

  for (const [at, text] of ticks_of(spec.x, small ? 4 : 8)) {
    svg.append(s('line', {class: 'grid', x1: round(x(at)), x2: round(x(at)), y1: top, y2: height - bottom}),
               s('text', {x: round(x(at)), y: height - bottom + 19, 'text-anchor': 'middle'}, text));
  }
  for (const [at, text] of ticks_of(spec.y, 6)) {
    svg.append(s('line', {class: 'grid', x1: left, x2: width - right, y1: round(y(at)), y2: round(y(at))}),
               s('text', {x: left - 8, y: round(y(at)) + 4.5, 'text-anchor': 'end'}, text));
  }
  svg.append(s('path', {class: 'frame', d: `M${left} ${top}V${height - bottom}H${width - right}`}),
             s('text', {class: 'name', x: (left + width - right) / 2, y: height - 8, 'text-anchor': 'middle'}, spec.x.label),
             s('text', {class: 'name', x: 14, y: (top + height - bottom) / 2, 'text-anchor': 'middle',
                        transform: `rotate(-90 14 ${(top + height - bottom) / 2})`}, spec.y.label));
  if (spec.diagonal) {
    svg.append(s('path', {class: 'chance', d: `M${x(0)} ${y(1)}L${x(1)} ${y(0)}`, 'stroke-dasharray': '2 5', fill: 'none'}));
  }
  for (const [dx, dy] of spec.dots ?? []) svg.append(s('circle', {class: 'dots', cx: round(x(dx)), cy: round(y(dy)), r: 3.5}));
  spec.lines.forEach((line, k) => {
    let d = '';
    let pen = 'M';
    for (const [px, py] of line.points) {
      const shown = Number.isFinite(py) && py >= spec.y.low * (1 - 1e-12);
      if (!shown) { pen = 'M'; continue; }
      d += `${pen}${round(x(px))} ${round(y(Math.min(py, spec.y.high)))}`;
      pen = 'L';
    }
    const dash = line.tone === 'b' ? '8 5' : undefined;
    svg.append(s('path', {class: line.tone, d, fill: 'none', 'stroke-width': 2.5, 'stroke-linejoin': 'round', 'stroke-linecap': 'round', 'stroke-dasharray': dash}));
    if (spec.lines.length > 1) {
      const at = left + 8 + 110 * k;
      svg.append(s('line', {class: line.tone, x1: at, x2: at + 30, y1: 16, y2: 16, 'stroke-width': 2.5, 'stroke-dasharray': dash}),
                 s('text', {class: 'name', x: at + 38, y: 20.5}, line.name));
    }
  });
  return svg;
}

/// The chart as a file of its own.
function svg_text(spec) {
  const svg = chart(spec, 760);
  svg.prepend(s('title', {}, spec.title), s('style', {}, `
svg { background: #fff } text { fill: #565d6b; font: 13px system-ui, sans-serif } .name { fill: #1a1d24 }
.grid { stroke: #dedfe3 } .frame { stroke: #868d9a; fill: none } .a { stroke: #0f5ba8 } .b { stroke: #b54708 }
.chance { stroke: #565d6b } .dots { fill: #565d6b }`), s('rect', {width: '100%', height: '100%', fill: '#fff'}));
  return new XMLSerializer().serializeToString(svg);
}

/// {caption, columns: [name, …], rows: [[text, …], …]}
function table_of({caption, columns, rows}) {
  return h('table', {}, caption && h('caption', {}, caption),
           h('thead', {}, h('tr', {}, columns.map(name => h('th', {scope: 'col'}, name)))),
           h('tbody', {}, rows.map(row => h('tr', {}, row.map(text => h('td', {}, text))))));
}
