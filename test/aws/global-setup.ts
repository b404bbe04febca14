import { startStack } from './ministack.ts'

export default async function setup(): Promise<() => Promise<void>> {
  const stack = await startStack()
  return () => stack.stop()
}
