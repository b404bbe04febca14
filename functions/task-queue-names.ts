/**
 * The queue of each type of task, as the construct passes it to the functions. A function's variables have 4
 * KB in all, so only names are passed: all queues of a stack have the same URL prefix.
 */

export function writeTaskQueues(names: Iterable<readonly [type: string, queueName: string]>): string {
  return [...names].map(([type, name]) => `${encodeURIComponent(type)}=${name}`).join('&')
}

/** URLs by type, with the URL of another queue of the stack as the pattern. */
export function readTaskQueues(text: string, anyQueueUrl: string): Record<string, string> {
  const front = anyQueueUrl.slice(0, anyQueueUrl.lastIndexOf('/') + 1)
  return Object.fromEntries([...new URLSearchParams(text)].map(([type, name]) => [type, `${front}${name}`]))
}
