/** The user's entry file: the bundler puts it here (an alias), under a name that nothing in npm has. */
declare module 'overwinter-workflows'
