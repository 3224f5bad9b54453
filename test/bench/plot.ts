import type { Result } from './result.js';
import type { Summary } from './report.js';

const rowHeight = 26;
const left = 96;
const right = 64;
const width = 720;
const top = 56;

/**
 * Colours that are readable on light and dark pages, because the picture does not know the page.
 */
const colours = { text: '#6e7781', bar: '#2f81f7', spread: '#8b949e', line: '#d29922' } as const;

/**
 * The ratios as bars without a background: one for each kind of request, a line for the yardstick,
 * and a thin stroke for the middle half of the rounds.
 */
export function plot({ node, rounds, results }: Result): string {
  const longest = Math.max(1.2, ...results.map(({ ratio }) => ratio.quartiles[1]));
  const scale = (ratio: number): number => (ratio / longest) * (width - left - right);
  const height = top + results.length * rowHeight + 28;
  const one = round(left + scale(1));
  const bottom = height - 24;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>Requests a second of the generated server by those of the best one written by hand</title>`,
    `<g font-family="ui-sans-serif, system-ui, sans-serif" font-size="13" fill="${colours.text}">`,
    `<text x="${left}" y="20" font-size="15">Generated server by the faster one written by hand, requests a second</text>`,
    `<text x="${one}" y="44" text-anchor="middle" fill="${colours.line}">as fast as by hand</text>`,
    ...results.map((each, index) => bar(each, top + index * rowHeight, scale)),
    `<line x1="${one}" x2="${one}" y1="50" y2="${bottom}" stroke="${colours.line}" stroke-width="1.5" stroke-dasharray="4 3"/>`,
    `<text x="${left}" y="${height - 8}" font-size="11">Node ${xml(node)}, ${rounds} rounds; the stroke spans the middle half of the rounds</text>`,
    `</g>`,
    `</svg>`,
    '',
  ].join('\n');
}

function bar({ request, ratio }: Summary, y: number, scale: (ratio: number) => number): string {
  const middle = y + rowHeight / 2;
  const [low, high] = ratio.quartiles.map((each) => round(left + scale(each)));
  return [
    `<text x="${left - 8}" y="${middle + 4}" text-anchor="end">${xml(request)}</text>`,
    `<rect x="${left}" y="${y + 5}" width="${round(scale(ratio.median))}" height="${rowHeight - 10}" rx="2" fill="${colours.bar}"/>`,
    `<line x1="${String(low)}" x2="${String(high)}" y1="${middle}" y2="${middle}" stroke="${colours.spread}" stroke-width="3"/>`,
    `<text x="${round(left + scale(Math.max(ratio.median, ratio.quartiles[1])) + 8)}" y="${middle + 4}">${ratio.median.toFixed(2)}</text>`,
  ].join('\n');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function xml(text: string): string {
  return text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);
}
