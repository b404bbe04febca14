import * as module from 'overwinter-codec'
import { codecOf } from '../sdk/codec/codec.ts'
import { withCodec } from '../sdk/codec/with-codec.ts'
import type { World } from '../sdk/ports/world.ts'

/** A world whose payloads are stored as the user's codec has them. */
export const coded = <W extends World>(world: W): W => withCodec(world, codecOf(module))
