import type { Codec } from '../../sdk/index.ts'

/** A codec whose keys are names of tags. Nothing of a payload can be recognised in what it makes, and a key can be lost. */
export function shroud() {
  const lost = new Set<string>()
  const codec: Codec = {
    encode: async (json, { tags }) => `${tags[0] ?? ''}|${turned(json)}`,
    decode: async (encoded) => {
      const key = encoded.slice(0, encoded.indexOf('|'))
      if (lost.has(key)) throw new Error(`the key of '${key}' was destroyed`)
      return turned(encoded.slice(key.length + 1))
    },
  }
  return { codec, lost }
}

/** Every character is moved to the other half of its range of 64, and back again. */
const turned = (text: string): string =>
  Array.from(text, (character) => String.fromCodePoint(character.codePointAt(0)! ^ 0x1f)).join('')
