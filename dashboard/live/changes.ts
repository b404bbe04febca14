import { config } from '../settings.ts'
import { lost, onFound, serverIsGone } from './connection.ts'
import { nextPause, PACE } from './pace.ts'

/** Runs that may have changed; `all` if it is not known which. */
export type Changed = ReadonlySet<string> | 'all'

/** Reloads what the change affects, and returns whether there was anything new. */
export type Follower = (changed: Changed) => Promise<boolean> | undefined

const followers = new Set<Follower>()
let source: EventSource | undefined
let timer: ReturnType<typeof setTimeout> | undefined
let pauseMs = PACE.shortestMs
let touchedAt = performance.now()

export function follow(follower: Follower): () => void {
  followers.add(follower)
  resume()
  return () => {
    followers.delete(follower)
    if (followers.size === 0) pause()
  }
}

/** Called after an action, which will soon have a visible effect. */
export function hurry(): void {
  pauseMs = PACE.shortestMs
  void tell('all')
}

async function tell(changed: Changed): Promise<boolean> {
  const news = await Promise.all([...followers].map((follower) => follower(changed) ?? false))
  return news.some(Boolean)
}

function resume(): void {
  if (document.hidden || followers.size === 0 || lost.value) return
  if (config.value.hasChanges) source ??= listen()
  else if (timer === undefined) poll()
}

/** A hidden page does not poll. */
function pause(): void {
  source?.close()
  source = undefined
  clearTimeout(timer)
  timer = undefined
}

function listen(): EventSource {
  const stream = new EventSource('/changes')
  stream.addEventListener('runs', (event) => void tell(new Set((JSON.parse(event.data) as { runs: string[] }).runs)))
  stream.addEventListener('all', () => void tell('all'))
  // Changes before the stream opened are not in it.
  stream.addEventListener('open', () => void tell('all'))
  stream.addEventListener('error', () => {
    pause()
    void whyNot()
  })
  return stream
}

/** A caller that may not open the stream can still poll. */
async function whyNot(): Promise<void> {
  const isThere = await fetch('/changes', { signal: AbortSignal.timeout(5_000) }).then(
    ({ status, body }) => {
      void body?.cancel()
      return status === 401 || status === 403
    },
    () => false,
  )
  if (!isThere) return serverIsGone()
  config.value = { ...config.value, hasChanges: false }
  resume()
}

function poll(): void {
  timer = setTimeout(async () => {
    const isNews = await tell('all')
    pauseMs = nextPause(pauseMs, isNews, performance.now() - touchedAt)
    if (timer === undefined) return
    timer = undefined
    resume()
  }, pauseMs)
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) return pause()
  if (followers.size === 0) return
  pauseMs = PACE.shortestMs
  void tell('all')
  resume()
})

onFound(() => {
  pauseMs = PACE.shortestMs
  void tell('all')
  resume()
})

for (const touch of ['pointerdown', 'pointermove', 'keydown', 'wheel'])
  document.addEventListener(touch, () => (touchedAt = performance.now()), { passive: true })
