import * as module from 'overwinter-codec'
import { codecOf } from '../sdk/codec/codec.ts'
import { withCodec } from '../sdk/codec/with-codec.ts'
import type { World } from '../sdk/ports/world.ts'

/** A world whose payloads are stored in the encoding of the user's codec. */
export const coded = <W extends World>(world: W): W => withCodec(world, codecOf(module))
