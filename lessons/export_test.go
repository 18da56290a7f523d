package lessons

// ReadGallery reads a gallery of the scenarios that have the names.
var ReadGallery = readGallery
