import { Local } from '../../sdk/local.ts'

/** A process that opens each file it is told of, as soon as it is told, and says how that went. */
process.on('message', async (path: string) => {
  try {
    const local = await Local.open({ path, workflows: [], log: () => {} })
    await local.close()
    process.send!('opened')
  } catch (error) {
    process.send!(String(error))
  }
})
process.send!('up')
