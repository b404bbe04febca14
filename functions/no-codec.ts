/** In the place of the user's codec, where there is none. */
export default null
