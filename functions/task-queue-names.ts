/**
 * The queue of each type of task, as the construct tells the functions. A function's variables have 4 KB between them, so
 * only names are told: all queues of a stack have the same URL in front.
 */

export function writeTaskQueues(names: Iterable<readonly [type: string, queueName: string]>): string {
  return [...names].map(([type, name]) => `${encodeURIComponent(type)}=${name}`).join('&')
}

/** URLs by type, with that of another queue of the stack as the example. */
export function readTaskQueues(text: string, anyQueueUrl: string): Record<string, string> {
  const front = anyQueueUrl.slice(0, anyQueueUrl.lastIndexOf('/') + 1)
  return Object.fromEntries([...new URLSearchParams(text)].map(([type, name]) => [type, `${front}${name}`]))
}
