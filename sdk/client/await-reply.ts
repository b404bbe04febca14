import { outgoingReply } from '../engine/requests.ts'
import { hasEnded, type Reply } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import { isStuck, neverSaid, type Question, tooLate } from './reply-content.ts'
import { notFound } from './retrying.ts'
import { nextReply } from './run-changes.ts'

/** What the run says to the message that asked, once it does. */
export async function awaitReply(world: World, question: Question, messageId: string, until: number): Promise<Reply> {
  const { runId } = question
  for (;;) {
    const change = nextReply(world, runId, messageId, until)
    try {
      // The run first: the last thing that it does may be to reply.
      const { status } = (await world.store.state(runId)) ?? missing(runId)
      const reply =
        (await world.store.reply(runId, messageId)) ??
        (hasEnded(status) ? await lastWord(world, runId, messageId) : undefined)
      if (reply) return reply
      if (hasEnded(status)) throw neverSaid(question, status)
      if (status === 'stuck') throw isStuck(question)
      if (world.clock.now() >= until) throw tooLate(question)
      await change.promise
    } finally {
      change.cancel()
    }
  }
}

function missing(runId: string): never {
  throw notFound(runId)
}

/** A runner that died behind its last frame may not have sent the reply; its journal has it all the same. */
async function lastWord({ store }: World, runId: string, messageId: string): Promise<Reply | undefined> {
  const ofStore = readings.get(store) ?? new Map<string, Promise<Map<string, Reply>>>()
  readings.set(store, ofStore)
  const reading = ofStore.get(runId) ?? repliesIn(store, runId).finally(() => ofStore.delete(runId))
  ofStore.set(runId, reading)
  return (await reading).get(messageId)
}

/** Journals that are being read: of many that asked a run which has ended, one reads for all. */
const readings = new WeakMap<World['store'], Map<string, Promise<Map<string, Reply>>>>()

async function repliesIn(store: World['store'], runId: string): Promise<Map<string, Reply>> {
  const replies = new Map<string, Reply>()
  for (const event of (await store.frames(runId)).flatMap(({ events }) => events)) {
    if (event.type !== 'request.replied' && event.type !== 'request.refused') continue
    if (!replies.has(event.to)) replies.set(event.to, outgoingReply(event).reply)
  }
  return replies
}
