import { type AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBRecord, AttributeValue as JsonAttributeValue } from 'aws-lambda'
import type { FrameEvent } from '../sdk/base/events.ts'
import type { FrameItem } from '../sdk/worlds/aws/frames.ts'
import { RUN, runIdOf, runKey, seqOf } from '../sdk/worlds/aws/keys.ts'
import { Objects } from '../sdk/worlds/aws/objects.ts'
import { Payloads } from '../sdk/worlds/aws/payloads.ts'
import type { RunItem } from '../sdk/worlds/aws/run-item.ts'
import { log, setting } from './environment.ts'
import { type LifecycleEvent, lifecycleOf } from './lifecycle-events.ts'
import { STATUS_CHANGE, statusChangeOf } from './status-change.ts'

/** One event for the bus. */
export interface BusEvent {
  type: string
  at: number
  /** The run it is about. */
  runId: string
  detail: Record<string, unknown>
}

const table = setting('OVERWINTER_TABLE')
const db = DynamoDBDocumentClient.from(new DynamoDBClient())
const payloads = new Payloads(db, new Objects(setting('OVERWINTER_BUCKET')), table)

/**
 * What a record of the table's stream tells. The event source lets new frames through, and runs in states that are
 * worth a word.
 */
export async function readRecord({ dynamodb: change }: DynamoDBRecord): Promise<BusEvent[]> {
  const item = unmarshall(fromJson(change!.NewImage!)) as RunItem | FrameItem
  const before = change?.OldImage && (unmarshall(fromJson(change.OldImage)) as RunItem | FrameItem)
  if (item.sk === RUN) return runEvents(item as RunItem, before as RunItem | undefined)
  // Rewritten to prolong its lifetime.
  return before?.life === item.life && before !== undefined ? [] : frameEvents(item as FrameItem)
}

function runEvents(run: RunItem, before: RunItem | undefined): BusEvent[] {
  const { workflow, version, createdAt, endedAt } = run
  const runId = runIdOf(run.pk)
  const change = statusChangeOf(run, before)
  if (!change) return []
  const at = endedAt ?? (change.previousStatus === undefined ? createdAt : Date.now())
  const events: BusEvent[] = [{ type: STATUS_CHANGE, at, runId, detail: { ...change } }]
  if (change.previousStatus === undefined && change.status === 'PENDING') {
    events.push(
      lifecycle({ type: 'run.started' }, { id: `${runId}/${run.life}/0`, runId, workflow, version, at: createdAt }),
    )
  }
  return events
}

async function frameEvents({ pk, sk, life, at, epoch, events: stored }: FrameItem): Promise<BusEvent[]> {
  const runId = runIdOf(pk)
  const [run, events] = await Promise.all([definitionOf(runId), eventsOf(runId, stored)])
  const seq = seqOf(sk)
  return lifecycleOf({ seq, at, epoch, events }).map((event, index) =>
    lifecycle(event, { id: `${runId}/${life}/${seq}/${index}`, runId, ...run, at }),
  )
}

function lifecycle(
  { type, ...event }: LifecycleEvent,
  about: { id: string; runId: string; workflow?: string; version?: number; at: number },
): BusEvent {
  const { at, ...rest } = about
  return { type, at, runId: about.runId, detail: { ...event, ...rest, at: new Date(at).toISOString() } }
}

/**
 * Returns no events for a frame whose object can never be read: the record would block all records behind it.
 * S3 answers NoSuchKey after the run was erased, and AccessDenied if a policy hides or forbids the object.
 */
async function eventsOf(runId: string, stored: FrameItem['events']): Promise<FrameEvent[]> {
  try {
    return (await payloads.load(runId, stored)) as unknown as FrameEvent[]
  } catch (error) {
    const { name, message } = error as Error
    if (name === 'NoSuchKey')
      log('info', `run '${runId}' was erased before its steps could be sent to the event bus`, { runId })
    else if (name === 'AccessDenied')
      log(
        'error',
        `steps of run '${runId}' are not sent to the event bus: this function may not read them. Check the ` +
          `policies of the bucket and its key. ${message}`,
        {
          runId,
        },
      )
    else throw error
    return []
  }
}

/** An event is JSON with binary attributes in base64. Only frames have one, at the top level. */
function fromJson(image: Record<string, JsonAttributeValue>): Record<string, AttributeValue> {
  const entries = Object.entries(image).map(([name, value]) => [
    name,
    value.B === undefined ? value : { B: Buffer.from(value.B, 'base64') },
  ])
  return Object.fromEntries(entries) as Record<string, AttributeValue>
}

/** The workflow of the run: rules filter by it, and frames do not contain it. */
async function definitionOf(runId: string): Promise<{ workflow: string | undefined; version: number | undefined }> {
  const { Item } = await db.send(
    new GetCommand({ TableName: table, Key: runKey(runId), ProjectionExpression: 'workflow, version' }),
  )
  return { workflow: Item?.workflow as string | undefined, version: Item?.version as number | undefined }
}
