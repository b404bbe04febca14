import { withdrawn } from '../../../tasks/lifecycle.ts'
import { isNewer, type NewTask } from '../../../tasks/task.ts'
import type { Aws } from '../context.ts'
import { findTask, putTask, toTask, writeTask } from '../task-item.ts'

/** Doing it again is harmless: it only makes sure that the queue knows of a task that waits. */
export async function dispatchTask(aws: Aws, task: NewTask): Promise<void> {
  let put = await putTask(aws, task)
  while (!put.ok) {
    const there = put.old && (await toTask(aws, put.old))
    if (there && !isNewer(task, there)) {
      if (!isNewer(there, task) && there.state === 'waiting') await aws.queues.send(there, task.input)
      return
    }
    put = await putTask(aws, task, put.old)
  }
  await aws.queues.send(put.task, task.input)
}

/** The message in the queue is thrown away by whoever meets it. */
export async function withdrawTask(aws: Aws, which: Pick<NewTask, 'id' | 'generation' | 'round'>): Promise<void> {
  for (;;) {
    const item = await findTask(aws, which.id)
    const task = item && (await toTask(aws, item))
    if (!task || task.state === 'settled' || isNewer(task, which)) return
    if (await writeTask(aws, withdrawn(task))) return
  }
}
