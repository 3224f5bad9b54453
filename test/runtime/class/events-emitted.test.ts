import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { serverOf } from '../../support/server.js';

const model = `
drs: 1
name: orders
dataclasses:
  Order:
    events: [validateSave, saving, afterSave, validateDrop]
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      customer: { type: string, mandatory: true }
      total: { type: number, default: 0, readOnly: true }
      lines: { to: Line, many: true, inverse: order }
  Line:
    events: [saving, afterSave, afterDrop]
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      price: { type: number, mandatory: true }
      order: { to: Order, onDelete: cascade }
`;

const order = `
import { OrderEntityBase } from '../generated/api.js';
import type { AfterSaveEvent, DropEvent, EventError, OrderTypes, SaveEvent } from '../generated/api.js';

export class OrderEntity extends OrderEntityBase {
  async validateSave(event: SaveEvent<OrderTypes>): Promise<EventError | undefined> {
    const before = event.old?.customer ?? null;
    if (before === null || before === this.customer) return undefined;
    return { errCode: 100, message: \`The order is that of \${before}.\`, seriousError: true };
  }

  saving(_event: SaveEvent<OrderTypes>): undefined {
    this.customer = this.customer?.trim() ?? null;
  }

  async afterSave(event: AfterSaveEvent<OrderTypes>): Promise<void> {
    if (event.isNew) await this.ds.Line.new({ price: 1, order: this }).save();
  }

  validateDrop(_event: DropEvent): EventError | undefined {
    return this.total !== null && this.total > 100 ? { errCode: 101, message: 'Too much.' } : undefined;
  }
}
`;

const line = `
import { LineEntityBase, RestError } from '../generated/api.js';
import type { AfterDropEvent, AfterSaveEvent, LineTypes, SaveEvent } from '../generated/api.js';

export class LineEntity extends LineEntityBase {
  saving(_event: SaveEvent<LineTypes>): undefined {
    if (this.price !== null && this.price < 0) throw new RestError(402, 9, 'A price is paid.');
  }

  async afterSave(_event: AfterSaveEvent<LineTypes>): Promise<void> {
    await this.sumUp();
  }

  async afterDrop(_event: AfterDropEvent): Promise<void> {
    await this.sumUp();
  }

  private async sumUp(): Promise<void> {
    const order = await this.order.get();
    if (order === null) return;
    order.total = (await order.lines.sum('price')) ?? 0;
    await order.save();
  }
}
`;

let app: FastifyInstance;
beforeAll(async () => {
  app = await serverOf(
    model,
    {},
    { 'src/classes/OrderEntity.ts': order, 'src/classes/LineEntity.ts': line },
  );
});
afterAll(() => app.close());

async function post(url: string, body?: unknown): Promise<unknown> {
  const response = await app.inject({
    method: 'POST',
    url: `/rest/${url}`,
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  return response.json();
}

it('Events are methods of the entity classes of the user', async () => {
  expect(await post('Order?$method=update', { customer: ' mia ' })).toMatchObject({
    customer: 'mia',
    total: 1,
    __STAMP: 2,
  });
  expect(await post('Line?$method=update', { price: 200, order: 1 })).toMatchObject({ __KEY: '2' });
  const changed = { __KEY: 1, __STAMP: 3, customer: 'tom' };
  expect(await post('Order?$method=update', changed)).toMatchObject({
    total: 201,
    __STATUS: { status: 8 },
    __ERROR: [{ errCode: 100, message: 'The order is that of mia.' }],
  });
  expect(await post('Order(1)?$method=delete')).toMatchObject({
    ok: false,
    __ERROR: [{ errCode: 101 }],
  });
  expect(await post('Line(2)?$method=delete')).toEqual({ ok: true });
  expect(await post('Line?$method=update', { price: -1, order: 1 })).toMatchObject({
    __ERROR: [{ errCode: 9 }],
  });
  expect((await app.inject('/rest/Order(1)')).json()).toMatchObject({ total: 1, __STAMP: 4 });
  expect(await post('Order(1)?$method=delete')).toEqual({ ok: true });
  expect((await app.inject('/rest/Line?$top=0')).json()).toMatchObject({ __COUNT: 0 });
});
