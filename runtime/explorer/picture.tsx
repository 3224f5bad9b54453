import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import {
  headHeight,
  lineHeight,
  type ModelPicture,
  modelPicture,
  type PictureBox,
} from '../protocol/model-picture.js';
import type { ExplorerModel } from './model.js';
import { addressOf, gridOf } from './place.js';

/** Which part of the picture is seen: its centre moves while it is dragged. */
interface Sight {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

const whole: Sight = { x: 0, y: 0, zoom: 1 };
const zoomStep = 1.2;
const leastWidth = 1000;
const leastHeight = 560;

/** The model as a picture: dataclasses as boxes, relations as lines. */
export function Picture({ model }: { readonly model: ExplorerModel }): JSX.Element {
  const picture = useMemo(() => pictureOf(model), [model]);
  const [sight, setSight] = useState(whole);
  const dragged = useRef<{ readonly x: number; readonly y: number }>();
  const { boxes, lines } = picture;
  // A small model is not drawn larger than its texts are elsewhere.
  const width = Math.max(picture.width, leastWidth);
  const height = Math.max(picture.height, leastHeight);
  const { x, y, zoom } = sight;
  const scaled = (factor: number): void =>
    setSight({ x, y, zoom: Math.min(8, Math.max(0.2, zoom * factor)) });
  return (
    <div class="picture">
      <div class="bar">
        <button type="button" aria-label="Larger" onClick={() => scaled(zoomStep)}>
          +
        </button>
        <button type="button" aria-label="Smaller" onClick={() => scaled(1 / zoomStep)}>
          −
        </button>
        <button type="button" onClick={() => setSight(whole)}>
          All
        </button>
      </div>
      <svg
        role="group"
        aria-label={`The dataclasses of ${model.name}`}
        viewBox={`${x} ${y} ${width / zoom} ${height / zoom}`}
        onWheel={(event) => {
          event.preventDefault();
          scaled(event.deltaY < 0 ? zoomStep : 1 / zoomStep);
        }}
        onPointerDown={(event) => {
          dragged.current = { x: event.clientX, y: event.clientY };
        }}
        onPointerUp={() => {
          dragged.current = undefined;
        }}
        onPointerMove={(event) => {
          const from = dragged.current;
          if (from === undefined || event.buttons === 0) return;
          const unit = width / zoom / event.currentTarget.clientWidth;
          dragged.current = { x: event.clientX, y: event.clientY };
          setSight({
            x: x - (event.clientX - from.x) * unit,
            y: y - (event.clientY - from.y) * unit,
            zoom,
          });
        }}
      >
        {lines.map((line) => (
          <g key={`${line.from}.${line.name}`} class="line">
            <path d={line.path} />
            <text x={line.x} y={line.y - 4}>
              {line.name}
            </text>
          </g>
        ))}
        {boxes.map((box) => (
          <Box key={box.name} box={box} />
        ))}
      </svg>
    </div>
  );
}

function Box({ box }: { readonly box: PictureBox }): JSX.Element {
  const { name, attributes, x, y, width, height } = box;
  return (
    <a href={addressOf(gridOf(name))} class="box">
      <rect {...{ x, y, width, height }} rx={6} />
      <text class="head" x={x + 12} y={y + headHeight - 9}>
        {name}
      </text>
      {attributes.map((each, index) => (
        <text key={each} x={x + 12} y={y + headHeight + (index + 0.75) * lineHeight}>
          {each}
        </text>
      ))}
    </a>
  );
}

function pictureOf({ dataclasses }: ExplorerModel): ModelPicture {
  return modelPicture(
    [...dataclasses.values()].map(({ name, attributes }) => ({
      name,
      attributes: attributes
        .filter(({ kind }) => kind !== 'many')
        .map(({ name, kind, target = '' }) => (kind === 'one' ? { name, target } : { name })),
    })),
  );
}
