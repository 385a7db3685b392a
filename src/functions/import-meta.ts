/** Stands for `import.meta`, which only modules have, in the text of an inline function. */
export const IMPORT_META = '__bellis_import_meta';
