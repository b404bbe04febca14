import { startStack } from './ministack.ts'

export default async function setup(): Promise<() => Promise<void>> {
  // The stand-in then checks IAM, which is what proves that the roles of the deployed functions suffice.
  process.env.AUTH ??= 'true'
  const stack = await startStack()
  return () => stack.stop()
}
