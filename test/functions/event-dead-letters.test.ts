import type { SendMessageCommandInput } from '@aws-sdk/client-sqs'
import { expect, it } from 'vitest'
import { EventDeadLetters } from '../../functions/event-dead-letters.ts'
import type { DeadEvent } from '../../sdk/events/intake.ts'

async function sent(dead: DeadEvent) {
  const messages: SendMessageCommandInput[] = []
  const stored = new Map<string, string>()
  const sqs = { sendMessage: async (message: SendMessageCommandInput) => void messages.push(message) }
  const objects = { put: async (key: string, body: Uint8Array) => void stored.set(key, Buffer.from(body).toString()) }
  await new EventDeadLetters(() => sqs as never, objects, 'https://queue').send('placed', dead)
  const { MessageBody, MessageAttributes, QueueUrl } = messages[0]!
  return {
    body: MessageBody!,
    attributes: Object.fromEntries(
      Object.entries(MessageAttributes!).map(([name, { StringValue }]) => [name, StringValue!]),
    ),
    QueueUrl,
    stored,
  }
}

it('a dead letter is the event as mappings saw it, with the reason, the subscription and the id beside it', async () => {
  const event = { id: 'e-1', body: { order: 1 } }
  expect(await sent({ event, id: 'e-1', reason: 'id gave nothing' })).toMatchObject({
    QueueUrl: 'https://queue',
    body: JSON.stringify(event),
    attributes: { reason: 'id gave nothing', subscription: 'placed', eventId: 'e-1' },
  })
})

it('what SQS would refuse is spelt otherwise, and the event stays the same', async () => {
  const event = { body: 'a\uFFFEb\uFFFF\u0000' }
  const { body, attributes } = await sent({ event, id: undefined, reason: 'bad \u0001 \uFFFE \ud800' })
  expect(body).not.toMatch(/[\uFFFE\uFFFF]/)
  expect(JSON.parse(body)).toEqual(event)
  expect(attributes).toEqual({ reason: 'bad \uFFFD \uFFFD \uFFFD', subscription: 'placed' })
})

it('an event that no message can hold is kept whole in the bucket', async () => {
  const event = { id: 'e-1', body: 'ä'.repeat(130_000) }
  const { body, stored, attributes } = await sent({ event, id: 'e-1', reason: 'x'.repeat(10_000) })
  const { tooLarge, id } = JSON.parse(body)
  expect(id).toBe('e-1')
  expect(JSON.parse(stored.get(tooLarge)!)).toEqual(event)
  expect(attributes.reason).toHaveLength(2_000)
})

it('what is no JSON at all is still a letter', async () => {
  expect(await sent({ event: undefined, id: undefined, reason: '' })).toMatchObject({
    body: 'null',
    attributes: { reason: '-' },
  })
})
