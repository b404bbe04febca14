import { crc32, deflateSync, inflateSync } from 'node:zlib'

/**
 * Makes a smaller PNG of a screenshot, which browsers compress badly. Supports Chromium's format: 8 bits for
 * each of red, green, blue and perhaps alpha, not interlaced. It keeps 256 colours and maps every other to
 * the nearest of them: screens have few.
 */
export function smallerPng(png: Buffer): Buffer {
  const { width, height, pixels } = decoded(png)
  const { palette, indexOf } = paletteOf(pixels)
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexOf(pixels[y * width + x]!)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}

function decoded(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  const [width, height, depth, kind] = [png.readUInt32BE(16), png.readUInt32BE(20), png[24]!, png[25]!]
  if (depth !== 8 || (kind !== 2 && kind !== 6))
    throw new Error(`a PNG of colour type ${kind} and depth ${depth} is not what Chromium used to write`)
  const step = kind === 6 ? 4 : 3
  const raw = inflateSync(Buffer.concat(parts))
  const line = width * step
  const pixels = new Uint32Array(width * height)
  let above = new Uint8Array(line)
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (line + 1)]!
    const row = Uint8Array.from(raw.subarray(y * (line + 1) + 1, (y + 1) * (line + 1)))
    for (let i = 0; i < line; i++)
      row[i] = row[i]! + predicted(filter, i >= step ? row[i - step]! : 0, above[i]!, i >= step ? above[i - step]! : 0)
    for (let x = 0; x < width; x++)
      pixels[y * width + x] = (row[x * step]! << 16) | (row[x * step + 1]! << 8) | row[x * step + 2]!
    above = row
  }
  return { width, height, pixels }
}

/** The predicted value of a byte under each of PNG's five filters. */
function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

function paletteOf(pixels: Uint32Array): { palette: number[]; indexOf: (colour: number) => number } {
  const counts = new Map<number, number>()
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const palette: number[] = []
  // Frequent colours first, without near duplicates: a rare colour is often an important one.
  for (const [colour] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (palette.length === 256) break
    if (palette.every((other) => distance(colour, other) > ALIKE)) palette.push(colour)
  }
  const known = new Map(palette.map((colour, i) => [colour, i]))
  const nearest = (colour: number): number => {
    const far = palette.map((other) => distance(colour, other))
    return far.indexOf(Math.min(...far))
  }
  return {
    palette,
    indexOf(colour) {
      const index = known.get(colour) ?? nearest(colour)
      known.set(colour, index)
      return index
    },
  }
}

const ALIKE = 40
const distance = (a: number, b: number): number =>
  [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0)
