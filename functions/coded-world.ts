import * as module from 'overwinter-codec'
import { codecOf } from '../sdk/codec/codec.ts'
import { withCodec } from '../sdk/codec/with-codec.ts'
import type { AwsWorld } from '../sdk/worlds/aws/world.ts'
import { awsWorld } from './environment.ts'

/** For functions that look into payloads. */
export const codedWorld = (): AwsWorld => withCodec(awsWorld(), codecOf(module))
