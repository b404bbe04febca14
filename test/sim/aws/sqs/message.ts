/** A message as whoever receives it sees it. */
export interface Received {
  id: string
  body: string
  receipt: string
  receiveCount: number
  sentAt: number
}

/** A message as the queue keeps it. */
export interface Stored {
  id: string
  body: string
  sentAt: number
  visibleAt: number
  receiveCount: number
  /** The handle of the last receive; older ones do nothing any more. */
  receipt: string | undefined
}
