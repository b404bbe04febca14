import { outgoingReply } from './engine/requests.ts'
import { hasEnded, type Reply, type World } from './ports.ts'
import { isStuck, neverSaid, type Question, tooLate } from './reply-content.ts'
import { recordOf } from './retrying.ts'
import { nextChange } from './run-changes.ts'

/** What the run says to the message that asked, once it does. */
export async function awaitReply(world: World, question: Question, messageId: string, until: number): Promise<Reply> {
  const { runId } = question
  for (;;) {
    const change = nextChange(world, runId, until)
    try {
      // The run first: the last thing that it does may be to reply.
      const { status } = await recordOf(world, runId)
      const reply = (await world.store.reply(runId, messageId)) ?? (hasEnded(status) ? await lastWord(world, runId, messageId) : undefined)
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

/** A runner that died behind its last frame may have told nobody; its journal says it all the same. */
async function lastWord({ store }: World, runId: string, messageId: string): Promise<Reply | undefined> {
  for (const { events } of await store.frames(runId)) {
    for (const event of events) {
      if ((event.type === 'request.replied' || event.type === 'request.refused') && event.to === messageId) return outgoingReply(event).reply
    }
  }
  return undefined
}
