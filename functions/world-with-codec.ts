import { coded } from 'overwinter-coding'
import type { AwsWorld } from '../sdk/worlds/aws/world.ts'
import { awsWorld } from './environment.ts'

/** For functions that read payloads. */
export const codedWorld = (): AwsWorld => coded(awsWorld())
