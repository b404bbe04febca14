/** The stand-in starts a Node process for every request under way, on a machine that has few cores; AWS does not mind. */
const AT_A_TIME = 12

const waiting: (() => void)[] = []
let underWay = 0

export const limitedFetch: typeof fetch = async (...request) => {
  if (underWay >= AT_A_TIME) await new Promise<void>((resolve) => waiting.push(resolve))
  underWay++
  try {
    return await fetch(...request)
  } finally {
    underWay--
    waiting.shift()?.()
  }
}
