import { expect, it } from 'vitest'
import { readTaskQueues, writeTaskQueues } from '../../functions/task-queue-names.ts'

it('types of tasks with any characters find their queues', () => {
  const names = [
    ['llm', 'Shop-TasksLlm-1'],
    ['a/b &=+%ü', 'Shop-TasksAb-2'],
  ] as const
  expect(
    readTaskQueues(writeTaskQueues(names), 'https://sqs.eu-north-1.amazonaws.com/123456789012/Shop-Queue'),
  ).toEqual({
    llm: 'https://sqs.eu-north-1.amazonaws.com/123456789012/Shop-TasksLlm-1',
    'a/b &=+%ü': 'https://sqs.eu-north-1.amazonaws.com/123456789012/Shop-TasksAb-2',
  })
  expect(readTaskQueues('', 'https://sqs.eu-north-1.amazonaws.com/123456789012/Shop-Queue')).toEqual({})
})
