import { GetCommand } from '@aws-sdk/lib-dynamodb'
import type { RunRecord } from '../../ports/run.ts'
import type { Aws } from './context.ts'
import { runKey } from './keys.ts'

type Seen = Pick<RunRecord, 'epoch' | 'stimulus'>

/**
 * DynamoDB does not call back, so this polls the run item, often at first and then less. A runner
 * that holds the run passes what it has seen. For other callers the first poll always reports a
 * change: otherwise a change between the caller's own read and the first poll would be missed.
 */
export function watchRun(aws: Aws, runId: string, onChange: () => void, seen?: Seen): () => void {
  const { first, most } = aws.thresholds.pollMs
  let pause = first
  let known = seen && forHolder(seen)
  let timer: NodeJS.Timeout | undefined
  let isOver = false

  const arm = () => {
    if (isOver) return
    timer = setTimeout(() => void look(), pause).unref()
    pause = Math.min(pause * 1.5, most)
  }
  const look = async () => {
    try {
      const state = await fingerprint(aws, runId, seen !== undefined)
      if (isOver) return
      if (state !== known) {
        known = state
        pause = first
        onChange()
      }
    } catch {
      // Watching is a convenience: a caller that needs certainty asks the store and gets the error
      // there. The next poll may succeed.
    }
    arm()
  }
  arm()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

/** Changes with every message, claim, commit or end of the run. */
async function fingerprint(aws: Aws, runId: string, isHolder: boolean): Promise<string> {
  const { Item } = await aws.db.send(
    new GetCommand({
      TableName: aws.table,
      Key: runKey(runId),
      ProjectionExpression: '#epoch, #stimulus, #status, #commit',
      ExpressionAttributeNames: {
        '#epoch': 'epoch',
        '#stimulus': 'stimulus',
        '#status': 'status',
        '#commit': 'commit',
      },
    }),
  )
  if (Item && isHolder) return forHolder(Item as Seen)
  return Item ? `${Item.epoch} ${Item.stimulus} ${Item.status} ${Item.commit}` : 'missing'
}

const forHolder = ({ epoch, stimulus }: Seen): string => `${epoch} ${stimulus}`
